"""The paper's tables and figure from the real data: inputs, pipeline, published numbers, report."""
