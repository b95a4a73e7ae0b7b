"""Charts as SVG, drawn by ourselves: colours are classes, which ``static/css/charts.css`` fills in. Pure."""
