"""Statistics of scores over queries: intervals, tests, and how alike two rankings of runs are. numpy alone."""
