"""Jobs of launchers: where results go, and the port at which hosts meet."""

import json
from pathlib import Path

import jsonschema
from support.cases import each

from frameworks.export.test_export_tuning import SHARDED, STAGES, TUNERS, resolved
from frameworks.launchers.stubs import Stubs, put
from frameworks.launchers.test_launchers import HERE, IN_ORDER, ON_GPUS, documents, exported, start
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan


@each("target", TUNERS)
def test_pods_leave_what_they_trained(target: str) -> None:
    """What is tuned is written to a claim: a pod's own volumes end with it."""
    asked = resolved("lora", framework=TARGETS[target].framework).cost
    plan = STAGES if target == "megatron-bridge" else SHARDED
    one = export_plan(asked, plan, TARGETS[target], launcher="kubernetes")
    _, job = documents(one)
    jsonschema.validate(job, json.loads((HERE / "jobset.json").read_text(encoding="utf-8")))
    [replicated] = job["spec"]["replicatedJobs"]
    spec = replicated["template"]["spec"]["template"]["spec"]
    [container] = spec["containers"]
    claims = {volume["name"] for volume in spec["volumes"] if "persistentVolumeClaim" in volume}
    kept = {mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] in claims}
    assert one.start is not None
    assert kept == {f"{container['workingDir']}/{one.start.results}"}
    needed = {name for name, _ in (*one.start.needs, *one.start.wants)}
    assert {"MODEL", "DATA"} <= needed
    assert {variable["name"] for variable in container["env"]} == needed
    assert "YOUR_CLAIM is a PersistentVolumeClaim" in one.files[0].text
    pretrained = exported("megatron", "kubernetes").files[0].text
    assert "persistentVolumeClaim" not in pretrained


@each("target", ON_GPUS)
def test_the_port_is_the_one_that_is_set(target: str, tmp_path: Path) -> None:
    """A job whose MASTER_PORT is another meets there, on every host."""
    stubs = Stubs(tmp_path)
    for launcher in ("slurm", "kubernetes"):
        one = exported(target, launcher)
        folder = put(one, tmp_path / launcher)
        start(one, stubs, folder, IN_ORDER, MASTER_PORT="31007")
        for host in IN_ORDER:
            words, variables = stubs.noted(host)
            assert "MASTER_PORT=31007" in variables
            assert not [word for word in words if "29500" in word]
