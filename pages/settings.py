"""The Settings page: every setting in plain words, saved with the collection."""

from autocontext.ui import settings_page
from autocontext.ui.frame import page

with page("Settings") as state:
    settings_page.show_head(state)
    settings_page.show_bar(state)
    settings_page.show_groups(state)
