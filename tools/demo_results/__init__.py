"""``python -m tools.demo_results``: make what the demo ships of finished benchmark runs, on a site of its own.

Into an empty folder, with nothing shipped, so that it is not made of itself::

    rm -r models_runner/demo/results/20260101-40
    MOMENTJUDGE_VAR=/tmp/demo PORT=8001 make run                # wait until the demo is ready; leave it running
    MOMENTJUDGE_VAR=/tmp/demo .venv/bin/python -m tools.demo_results

It makes the features of videos, subtitles and queries, brings them to 8 bits a number, has the running site's worker
train XML, ReLoCLNet and CONQUER on them by the form's small settings, and writes predictions, curves, settings, numbers
and the weights of one model. The participant's run is the three ranked lists merged.
"""
