"""Two checkouts read and write the same inputs, and what they make of them is compared: ``make differential``."""
