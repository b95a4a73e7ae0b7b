"""Figures for Prometheus. ``process``: of web processes. ``site``: of the database and the broker, the same from every
host. ``page``: /metrics. ``tasks``: what workers count, in the broker."""
