"""The web app's parts; the only place besides app.py and pages/ that imports Streamlit."""
