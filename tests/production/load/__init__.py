"""Who uses the site under load: a locust file. benchmarks/load.py and the soak start it; pytest never imports it."""
