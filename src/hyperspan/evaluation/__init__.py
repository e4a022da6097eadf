"""Score predicted mentions, test significance, and measure the calibration of probabilities."""

from hyperspan.evaluation.alignment import Aligned, align
from hyperspan.evaluation.calibration import Calibration, calibrate, calibration_of
from hyperspan.evaluation.comparison import Comparison, compare
from hyperspan.evaluation.counts import Score
from hyperspan.evaluation.error_kinds import MentionDifference
from hyperspan.evaluation.errors import ErrorReport, SentenceErrors, find_errors
from hyperspan.evaluation.intervals import Confidence, Difference, confidence, differences
from hyperspan.evaluation.models import Evaluated, evaluate_model
from hyperspan.evaluation.scores import Report, Slice, evaluate

__all__ = [
    "Aligned",
    "Calibration",
    "Comparison",
    "Confidence",
    "Difference",
    "ErrorReport",
    "Evaluated",
    "MentionDifference",
    "Report",
    "Score",
    "SentenceErrors",
    "Slice",
    "align",
    "calibrate",
    "calibration_of",
    "compare",
    "confidence",
    "differences",
    "evaluate",
    "evaluate_model",
    "find_errors",
]
