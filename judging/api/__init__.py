"""The API of judging: the services and selectors of the pages behind other doors."""
