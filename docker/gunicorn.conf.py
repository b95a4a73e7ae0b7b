"""How the web processes are run: python -m gunicorn --config docker/gunicorn.conf.py config.wsgi"""

from config.web_processes import child_exit, on_exit, post_worker_init  # noqa: F401 - gunicorn calls them
from core.env import env_int, env_str

bind = env_str("WEB_BIND", "127.0.0.1:8000")
worker_class = "gthread"
workers = env_int("WEB_PROCESSES", 2)
threads = env_int("WEB_THREADS", 4)
preload_app = True  # the processes share what importing the code takes
timeout = 60
graceful_timeout = 20  # for requests under way when it is asked to end
control_socket_disable = True
accesslog = "-"
logger_class = "core.observability.logs.AccessLog"
