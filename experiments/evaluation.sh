#!/bin/sh
# The evaluations whose results stand in experiments/results/, from top to bottom.
# Every command resumes where it was interrupted. DATA holds mams/, sentihood/ and, where known,
# tracinf_release/; SPANS holds mams/ and sentihood/ with train.jsonl, dev.jsonl and test.jsonl as
# written by `spanfluence spans`.
set -eu
DATA=${DATA:?folder with the data sets}
SPANS=${SPANS:?folder with their spans}
OUT=${OUT:-experiments/results}

for NAME in mams sentihood; do
  case $NAME in
    mams) RELEASED=$DATA/tracinf_release/ATSA/model_5_test_w_qa.json ;;
    sentihood) RELEASED=$DATA/tracinf_release/sentihood/sentihood_model_5_test_w_qa.json ;;
  esac
  # The paper's tables and figure. Ral retrains many times, so it comes last and by itself.
  paper() {
    spanfluence reproduce $NAME --data "$DATA/$NAME" --spans "$SPANS/$NAME" \
      --released "$RELEASED" --out "$OUT/$NAME" "$@"
  }
  paper --stages agreement --stages case --stages faithfulness
  paper
  # Evidence beyond the paper, on the run trained above.
  beyond() {
    spanfluence evaluate "$OUT/$NAME/run" --train "$SPANS/$NAME/train.jsonl" \
      --tests "$SPANS/$NAME/test.jsonl" --out "$OUT/$NAME-beyond" "$@"
  }
  beyond --stages sanity --stages mislabel --methods pinpoint --methods tracin++ --methods tracinf
  beyond --stages planted --methods pinpoint --methods tracin++ --methods tracinf \
    --methods control --methods "gradient cosine"
  beyond --stages lds --stages span-lds --methods pinpoint --methods tracin++ --methods tracinf \
    --methods "gradient cosine" --set seeds=1
  beyond --stages ablation --set seeds=1 --set removal_train=2000 --set "rates=[0.01, 0.03]"
done
