"""Plans: how one training step is split over chips.

Here live the plan that people read and edit, tables of plans as arrays, the order of ranks and the
layers of pipeline stages as text. A new field of a plan begins in `planner.plan.plan`; begin to
read there too. Everything above reads plans; this room imports `schedules` and `base`.
"""

from planner.base.vocabulary import (
    CP_MODES as CP_MODES,
)
from planner.base.vocabulary import (
    RECOMPUTES as RECOMPUTES,
)
from planner.base.vocabulary import (
    SHARDINGS as SHARDINGS,
)
from planner.base.vocabulary import (
    SPLITS as SPLITS,
)
from planner.plan.plan import (
    ALL_TO_ALL as ALL_TO_ALL,
)
from planner.plan.plan import (
    AXES as AXES,
)
from planner.plan.plan import (
    BY_COST as BY_COST,
)
from planner.plan.plan import (
    COLUMNS as COLUMNS,
)
from planner.plan.plan import (
    DDP as DDP,
)
from planner.plan.plan import (
    DEFAULT_ORDER as DEFAULT_ORDER,
)
from planner.plan.plan import (
    EVEN as EVEN,
)
from planner.plan.plan import (
    EVEN_COUNTED as EVEN_COUNTED,
)
from planner.plan.plan import (
    FRONT as FRONT,
)
from planner.plan.plan import (
    FRONT_COUNTED as FRONT_COUNTED,
)
from planner.plan.plan import (
    OFFLOAD_ACTIVATIONS as OFFLOAD_ACTIVATIONS,
)
from planner.plan.plan import (
    OFFLOAD_OPTIMIZER as OFFLOAD_OPTIMIZER,
)
from planner.plan.plan import (
    OFFLOAD_WEIGHTS as OFFLOAD_WEIGHTS,
)
from planner.plan.plan import (
    OFFLOADS as OFFLOADS,
)
from planner.plan.plan import (
    ORDERS as ORDERS,
)
from planner.plan.plan import (
    RING as RING,
)
from planner.plan.plan import (
    ZERO1 as ZERO1,
)
from planner.plan.plan import (
    ZERO2 as ZERO2,
)
from planner.plan.plan import (
    ZERO3 as ZERO3,
)
from planner.plan.plan import (
    Plan as Plan,
)
from planner.plan.plan import (
    PlanTable as PlanTable,
)
from planner.plan.plan import (
    Stage as Stage,
)
from planner.plan.plan import (
    StageTable as StageTable,
)
from planner.plan.plan import (
    code_of as code_of,
)
from planner.plan.plan import (
    complete_order as complete_order,
)
from planner.plan.recomputations import (
    FULL as FULL,
)
from planner.plan.recomputations import (
    NO_RECOMPUTE as NO_RECOMPUTE,
)
from planner.plan.recomputations import (
    RECOMPUTATIONS as RECOMPUTATIONS,
)
from planner.plan.recomputations import (
    SELECTIVE as SELECTIVE,
)
