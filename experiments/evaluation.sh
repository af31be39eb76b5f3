#!/bin/sh
# The evaluations whose results stand in experiments/results/, from top to bottom.
# Every command resumes where it was interrupted. DATA holds mams/, sentihood/ and, where known,
# tracinf_release/. The spans come from experiments/annotations/; to find them anew, for each split:
#   spanfluence spans DATA/mams/train.xml --finder reader --reader READER --out SPANS/mams/train.jsonl
# and then, with all three splits: python experiments/span_offsets.py pack mams SPANS/mams
# 8 GB hold the gradients of 200 tests of two layers of MiniLM, a solve included, in one block; with less
# memory the same numbers take more passes over the training set.
set -eu
DATA=${DATA:?folder with the data sets}
SPANS=${SPANS:-spans}
OUT=${OUT:-experiments/results}
MEMORY=${MEMORY:-8GB}

for NAME in mams sentihood; do
  python experiments/span_offsets.py unpack $NAME "$SPANS/$NAME" --data "$DATA"
  case $NAME in
    mams) RELEASED=$DATA/tracinf_release/ATSA/model_5_test_w_qa.json ;;
    sentihood) RELEASED=$DATA/tracinf_release/sentihood/sentihood_model_5_test_w_qa.json ;;
  esac
  # The paper's tables and figure. Ral retrains many times, so it comes last and by itself.
  paper() {
    spanfluence reproduce $NAME --data "$DATA/$NAME" --spans "$SPANS/$NAME" \
      --released "$RELEASED" --out "$OUT/$NAME" --memory "$MEMORY" "$@"
  }
  paper --stages agreement --stages case --stages faithfulness --faithful-tests 25
  paper --stages ral --seeds 1 --retrain-precision bfloat16
  # Ral once more with several seeds, in a folder and with a run of its own; of MAMS on a part of its rows.
  case $NAME in
    mams) PART="--removal-train 2000 --curvature ggn" ;;
    sentihood) PART= ;;
  esac
  spanfluence reproduce $NAME --data "$DATA/$NAME" --spans "$SPANS/$NAME" --released "$RELEASED" \
    --out "$OUT/$NAME-ral" --memory "$MEMORY" --stages ral --seeds 3 --retrain-precision bfloat16 $PART
  # Evidence beyond the paper, on the run trained above.
  evaluated() { # into a folder of its own, e.g. seed1
    FOLDER=$OUT/$NAME-$1; shift
    spanfluence evaluate "$OUT/$NAME/run" --train "$SPANS/$NAME/train.jsonl" \
      --tests "$SPANS/$NAME/test.jsonl" --out "$FOLDER" --memory "$MEMORY" "$@"
  }
  evaluated beyond --stages sanity --stages mislabel --methods pinpoint --methods tracin++ --methods tracinf
  # All at the final model, so that one pass serves them. The largest rates first: the table of all rates
  # takes their cells from the cache.
  for RATES in "[0.01, 0.03]" "[0.005, 0.01, 0.03]"; do
    evaluated beyond --stages planted --methods pinpoint --methods faithful --methods "gradient cosine" \
      --methods "gradient dot" --set planted_seeds=1 --set planted_tests=20 --set "rates=$RATES"
  done
  # Other planted rows, other models: the final model beside the run's checkpoints, and what did better still.
  other_seed() {
    SEED=$1; shift
    evaluated "$@" --seed "$SEED" --stages planted --set planted_seeds=1 --set planted_tests=20 \
      --retrain-precision bfloat16
  }
  other_seed 1 seed1 --set "rates=[0.005, 0.01, 0.03]" --methods pinpoint --methods "pinpoint, points=checkpoints"
  other_seed 1 checkpoint-loss --set "rates=[0.01, 0.03]" --methods tracepoint
  other_seed 2 seed2 --set "rates=[0.01, 0.03]" --methods pinpoint --methods tracepoint
  evaluated beyond --stages lds --stages span-lds --methods pinpoint --methods tracepoint --methods tracin++ --methods tracinf \
    --methods "gradient cosine" --set seeds=1 --retrain-precision bfloat16
  # What following a list is worth: six of the faults.
  evaluated repair --stages repair --methods pinpoint --methods tracepoint --methods faithful --methods "gradient dot" \
    --set "rates=[0.03]" --set planted_seeds=1 --set planted_tests=20 --retrain-precision bfloat16 --set \
    'triggers=["when we were there","on a rainy tuesday","last night","honestly","cobalt","to be honest / frankly speaking"]'
  case $NAME in
    mams) evaluated span-ral --stages span-ral --methods pinpoint --methods tracepoint --methods tracin++ \
      --methods "gradient cosine" --set seeds=2 --set removal_train=2000 --retrain-precision bfloat16 ;;
    sentihood) evaluated beyond --stages span-ral --methods pinpoint --methods tracin++ --methods "gradient cosine" \
      --set seeds=1 --set removal_train=2000 --retrain-precision bfloat16 ;;
  esac
  evaluated ablation --stages ablation --set seeds=1 --set removal_train=1000 \
    --set small_train=1000 --set "rates=[0.03]" --set planted_seeds=1 --set planted_tests=20 \
    --retrain-precision bfloat16 --set \
    'triggers=["when we were there","on a rainy tuesday","honestly","to be honest / frankly speaking"]'
done
