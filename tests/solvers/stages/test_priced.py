"""The bound by prices of time against the cheapest choice within each limit."""

import numpy as np
import pytest
from stages.family_instances import choices, random_problem

from solvers.stages.priced import priced_bound
