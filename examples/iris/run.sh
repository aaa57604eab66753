#!/bin/sh
# Trains the model, brings it into a database and asks it: run.sh [FOLDER], where the files go (default: a temporary one).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
export NACRE_ENDPOINT="bolt://$dir/iris.db"
node "$here/train.mjs" "$dir/iris.onnx"
nacre ml from-onnx "$dir/iris.onnx" "$dir/iris.svml" --name iris --version 1.0.0 \
  --columns sepal_length,sepal_width,petal_length,petal_width --description 'species of iris flowers'
nacre ml check "$dir/iris.svml"
nacre import --create --table iris "$here/iris.csv"
nacre ml import "$dir/iris.svml"
nacre sql -f "$here/iris.surql"
