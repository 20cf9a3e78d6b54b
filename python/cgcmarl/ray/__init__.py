"""Many trainings on a Ray cluster: `python -m cgcmarl.ray grid|reproduce|evaluate …`.

The jobs are the lines of `cgcmarl jobs`, done by `cgcmarl run-job` wherever the cluster has room. What is
lost with a worker or a node is taken up elsewhere from its last checkpoint, with the same bytes.
"""

from ._cluster import Ended, Options, run

__all__ = ["Ended", "Options", "run"]
