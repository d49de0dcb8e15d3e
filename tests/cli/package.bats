#!/usr/bin/env bats
# The Python package, whose wheel and modules of Python are python/.
# bats file_tags=plain
load helper
load translate

setup_file() {
    make_model
}

# With nothing of Python but its own library.
package() {
    t 0 "$TF_PYTHON" -ISB "$TOP/tests/cli/package.py" "$1" "$MODEL" "${@:2}"
    [ -z "$stderr" ] || { echo "$stderr" >&2; return 1; }
}

# The same with the packages cbor2 and numpy.
with_arrays() {
    t 0 "$TF_PYTHON" -IB "$TOP/tests/cli/package.py" "$1" "$MODEL" "${@:2}"
    [ -z "$stderr" ] || { echo "$stderr" >&2; return 1; }
}

@test "a list becomes the translations that tf-translate writes, in order" {
    tf-translate -m "$MODEL" "$LINES_TXT" >want
    package translate "$LINES_TXT" want
}

@test "a longer text keeps its form, as with tf-translate --document" {
    printf 'A b. B a.  C!\n\n  c a\r\nb.\tA\n\n' >text
    tf-translate -q --lang en --document -m "$MODEL" text >wrapped
    tf-split --lang en -l layout text | tf-translate -q --no-split -m "$MODEL" |
        tf-split -d -l layout >lines
    [ "$(<wrapped)" != "$(<lines)" ]
    package text text lines wrapped
}

@test "alternatives, scores and alignments" {
    package details
}

@test "no character makes two lines of a text, and what is no text fails alone" {
    package separators
}

@test "lists longer than pipes hold, from many threads: each gets its own, a short one soon" {
    package threads
}

@test "a pipeline that ends is an exception that says why; none is left after its object" {
    package ends
}

@test "Ctrl-C interrupts Python, and leaves the pipeline as it is" {
    # A group of its own: bats is not to be interrupted.
    t 0 setsid -w "$TF_PYTHON" -ISB -c 'import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler) # bash may have ignored it
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")' "$TOP/tests/cli/package.py" interrupt "$MODEL"
    [ -z "$stderr" ] || { echo "$stderr" >&2; return 1; }
}

@test "scores are those of tf-score" {
    tf-score -q --text -m "$MODEL" "$LINES_TFS" "$LINES_TFS" >want
    package scores "$LINES_TXT" want
}

@test "BLEU is sacreBLEU's" {
    package bleu
}

@test "streams and models are read as arrays, and written to the same bytes" {
    with_arrays vectors "$TOP/formats/vectors/"*.cbor
    tf-convert --to tfm --dtype f16 "$MODEL" -o f16.tfm
    tf-convert --to tfm --dtype i8 "$MODEL" -o i8.tfm
    with_arrays same "$MODEL" f16.tfm i8.tfm
}

@test "what was cut or damaged is an error, at every byte" {
    with_arrays damage "$TOP/formats/vectors/"{tokens,parts,batch,nbest,model}.cbor
}

@test "the tools take streams and models that Python writes" {
    with_arrays write
    cmp "$MODEL" same.tfm
    t 0 tf-cbor check long.tfs pairs.tfs same.tfm changed.tfm halves.tfm
    tf-cbor seal long.tfs | cmp - long.tfs # it has all checks
    [ "$(tf-cbor json long.tfs | grep -c tokens.,.idx)" -eq 5000 ]
    tf-cbor json pairs.tfs | grep -F '"src":[5,6],"tgt":[7]'
    for m in changed halves; do
        t 0 tf-translate -m $m.tfm -o got "$LINES_TXT"
        [ "$(wc -l <got)" -eq "$LINES" ]
    done
    [ "$(tf-info --json changed.tfm | jq .model)" != "$(tf-info --json "$MODEL" | jq .model)" ]
}

@test "the types of the package hold" {
    natively
    need mypy
    t 0 mypy --strict --ignore-missing-imports --cache-dir /dev/null "$TOP/python/tftools" \
        "$TOP/python/wheel.py"
}

# A wheel installed in an environment that is otherwise empty, whose programs see nothing else:
# wheel TAG [AUDITWHEEL]. To make the environment takes three seconds.
wheel() {
    empty=$BATS_FILE_TMPDIR/empty
    "$TF_PYTHON" -c 'import ensurepip' 2>/dev/null ||
        lacks venv "no python3-venv: the wheel is not installed"
    need strip
    t 0 "$TF_PYTHON" -B "$TOP/python/wheel.py" 0.1.0 "${TF_BIN:-$TOP/build/bin}" wheels "${@:2}"
    # shellcheck disable=SC2254 # a pattern
    case $output in wheels/tftools-0.1.0-py3-none-$1.whl) ;; *) echo "$output" >&2; return 1 ;; esac
    [ -d "$empty" ] || "$TF_PYTHON" -m venv "$empty"
    t 0 "$empty/bin/pip" --quiet --disable-pip-version-check install --force-reinstall --no-index \
        "$output"
    tf-translate -m "$MODEL" "$LINES_TXT" >want
    t 0 env -i "$empty/bin/python" -IB "$TOP/tests/cli/package.py" translate "$MODEL" "$LINES_TXT" \
        want
    t 0 env -i "$empty/bin/python" -IB "$TOP/tests/cli/package.py" bleu
    t 0 env -i "$empty/bin/tf-translate" -m "$MODEL" -o got "$LINES_TXT"
    cmp want got
    [ -s "$empty/share/man/man1/tf-translate.1" ]
}

@test "a wheel brings the tools into an empty environment" {
    wheel 'linux_*'
}

@test "auditwheel makes it one for other systems, with all libraries but theirs" {
    need auditwheel patchelf ldd
    wheel 'manylinux_*' auditwheel
    ldd "$empty"/lib/python3*/site-packages/tftools/bin/* | grep -vE \
        '^/|tftools\.libs/|lib(c|m|gcc_s|stdc\+\+|z)\.so|ld-linux|linux-vdso' >others || true
    [ ! -s others ] || { cat others >&2; return 1; }
}

@test "the examples of python/README.md run" {
    cp "$LINES_TFS" test.en.tfs
    cp "$MODEL" model.tfm
    sed -n '/^```python$/,/^```$/{/^```/!p}' "$TOP/python/README.md" |
        sed 's|run/translate/enpt|model|' >examples.py
    t 0 env PYTHONPATH="$TOP/python" "$TF_PYTHON" -B examples.py
    [ "${#lines[@]}" -eq $((2 + LINES)) ]
    t 0 tf-cbor check own.tfs changed.tfm
}
