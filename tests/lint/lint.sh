# What the lint scripts share: where the tree is, which files count, how a finding is told. Sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Root may check a tree that belongs to somebody else.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git rev-parse --show-toplevel >/dev/null 2>&1 || { echo 'lint: not a git tree (an unpacked archive?), nothing checked' && exit 77; }

findings=0
finding() {
  printf 'lint: %s\n' "$*"
  findings=$((findings + 1))
}
finish() {
  [ "$findings" -eq 0 ] || { printf 'lint: %d finding(s)\n' "$findings" && exit 1; }
}

# Files of the tree that match the pathspecs, also those not yet added, without those deleted.
tree_files() {
  git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while IFS= read -r file; do
    if [ -f "$file" ]; then printf '%s\n' "$file"; fi
  done
}
# FILE:LINE:TEXT of the lines that match an extended regular expression.
tree_grep() { git grep --untracked -nIE "$@" || true; }
