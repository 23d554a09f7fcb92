"""The names of `trajet.advise`, each with the module that defines it.

`__init__.py` reads this file.
"""

from trajet.advise.allocation import Allocation as Allocation
from trajet.advise.allocation import allocate as allocate
from trajet.advise.bounds import Bound as Bound
from trajet.advise.bounds import bound as bound
from trajet.advise.preparation import words_of_wait as words_of_wait
from trajet.advise.rules import OVER_MEDIAN as OVER_MEDIAN
from trajet.advise.rules import RunningVerdict as RunningVerdict
from trajet.advise.rules import Verdict as Verdict
from trajet.advise.rules import stragglers as stragglers
from trajet.advise.scaling import Prediction as Prediction
from trajet.advise.scaling import Setup as Setup
from trajet.advise.scaling import predict as predict
from trajet.advise.sentences import advice as advice
from trajet.advise.sentences import first_advice as first_advice
from trajet.advise.sentences import heuristics as heuristics
from trajet.advise.storage import Cluster as Cluster
from trajet.advise.storage import Environment as Environment
from trajet.advise.storage import Storage as Storage
from trajet.advise.words import in_bytes as in_bytes
from trajet.advise.words import in_seconds as in_seconds
from trajet.advise.words import in_two_digits as in_two_digits
from trajet.advise.workload import Workload as Workload
from trajet.report_entries import busy as busy
from trajet.report_entries import computing_to_input as computing_to_input
from trajet.report_entries import n_processes as n_processes
from trajet.report_entries import name_of as name_of
