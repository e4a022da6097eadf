"""The golden record: what hyperspan answers, written down before its code changes and compared afterwards."""
