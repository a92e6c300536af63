/**
 * The shell scripts that change files. Each runs as one `sh -c SCRIPT certroll ARGUMENT…`; what is
 * written comes on standard input, never in an argument. Exit statuses tell the failures apart.
 */
export const WRITE_STATUS = {
  /** What was staged is not what was sent. */
  mismatch: 90,
  /** The live file could not be replaced in one step. */
  notAtomic: 91,
  /** A file that must be there is missing. */
  missing: 92,
  /** The path is taken by something that certroll does not overwrite. */
  taken: 93,
  /** The live file is not what it was expected to be. */
  changed: 94,
} as const;

/** Shared by the scripts. Staged files are 0600 from their first byte and never outlive a failure. */
export const PRELUDE = `
set -eu
umask 077
LC_ALL=C PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
fail() { code=$1; shift; printf 'certroll: %s\\n' "$*" >&2; exit "$code"; }
staged=
trap '[ -z "$staged" ] || rm -f -- "$staged"' EXIT
trap 'exit 143' HUP INT PIPE TERM

# The file itself where the path is a link: writing through it leaves the link a link.
resolve() { readlink -f -- "$1" || fail ${WRITE_STATUS.missing} "no folder for $1"; }

stage_beside() { staged=$(mktemp -- "\${1%/*}/.\${1##*/}.certroll-XXXXXX"); }

# Owner before mode: a change of owner may clear bits of the mode.
take_after() {
  chown --reference="$1" -- "$2"
  chmod --reference="$1" -- "$2"
  if command -v selinuxenabled >/dev/null 2>&1 && selinuxenabled; then chcon --reference="$1" -- "$2"; fi
}

# PATH TARGET: keeps the live file as a second name of the same bytes; a link's keepsake is a link.
keep() {
  ln -f -- "$2" "$2.certroll-previous"
  [ "$1" = "$2" ] || [ ! -L "$1" ] || ln -sfn -- "$2.certroll-previous" "$1.certroll-previous"
}

# ACTION A B A B …: runs ACTION A B for each pair.
each_pair() {
  action_=$1
  shift
  while [ "$#" -gt 0 ]; do
    "$action_" "$1" "$2"
    shift 2
  done
}

sum_of() { sum_=$(sha256sum <"$1"); printf %s "\${sum_%% *}"; }
`;

/** Arguments: PATH SHA256 LIKE-or-empty MODE-or-empty KEEP(yes or empty) EXPECTED-SHA256-or-empty. */
export const WRITE_SCRIPT = `${PRELUDE}
path=$1 sum=$2 like=$3 mode=$4 keep=$5 expected=$6
as_expected() {
  [ -z "$expected" ] || { [ -f "$target" ] && [ "$(sum_of "$target")" = "$expected" ]; } ||
    fail ${WRITE_STATUS.changed} "$path is not what it was"
}
target=$(resolve "$path")
as_expected
stage_beside "$target"
cat >"$staged"
[ "$(sum_of "$staged")" = "$sum" ] || fail ${WRITE_STATUS.mismatch} "what arrived for $path is not what was sent"
if [ -e "$target" ]; then
  [ -f "$target" ] || fail ${WRITE_STATUS.taken} "$path is not a regular file"
  # The same bytes again: a second write would push the last good file out of its keepsake.
  [ "$(sum_of "$target")" != "$sum" ] || exit 0
  take_after "$target" "$staged"
elif [ -n "$like" ]; then
  take_after "$like" "$staged"
else
  chmod -- "$mode" "$staged"
fi
sync -- "$staged"
[ -z "$keep" ] || [ ! -e "$target" ] || keep "$path" "$target"
# Once more, with nothing but the rename between this look and the change.
as_expected
mv -fT -- "$staged" "$target"
staged=
sync -- "\${target%/*}"
`;

/** Arguments: KEEP(yes or empty), then FROM TO FROM TO … All that can fail comes before the first rename. */
export const INSTALL_SCRIPT = `${PRELUDE}
keep=$1
shift
prepare() {
  from=$(resolve "$1")
  to=$(resolve "$2")
  [ -f "$from" ] || fail ${WRITE_STATUS.missing} "$1 does not exist"
  [ "$(stat -c %d -- "$from")" = "$(stat -c %d -- "\${to%/*}")" ] ||
    fail ${WRITE_STATUS.notAtomic} "$1 and $2 are on different file systems"
  if [ -e "$to" ]; then
    [ -f "$to" ] || fail ${WRITE_STATUS.taken} "$2 is not a regular file"
    take_after "$to" "$from"
    [ -z "$keep" ] || [ "$from" = "$to.certroll-previous" ] || keep "$2" "$to"
  fi
  sync -- "$from"
}
install() {
  from=$(resolve "$1")
  to=$(resolve "$2")
  mv -fT -- "$from" "$to" || fail 1 "could not rename $1 to $2$done_"
  done_="$done_; already installed: $2"
  sync -- "\${to%/*}"
}
done_=
each_pair prepare "$@"
each_pair install "$@"
`;

/** Arguments: PATH ASIDE-or-empty PATH ASIDE-or-empty … All that can fail comes before the first rename. */
export const RESTORE_SCRIPT = `${PRELUDE}
prepare() {
  live=$(resolve "$1")
  [ -f "$live.certroll-previous" ] || fail ${WRITE_STATUS.missing} "$1.certroll-previous does not exist"
}
restore() {
  live=$(resolve "$1")
  previous=$live.certroll-previous
  if [ "$2" = "$1.certroll-previous" ]; then
    # The two change places; the live path is never without a file.
    ln -f -- "$live" "$previous.certroll-swap"
    mv -fT -- "$previous" "$live"
    mv -fT -- "$previous.certroll-swap" "$previous"
  else
    [ -z "$2" ] || ln -f -- "$live" "$2"
    mv -fT -- "$previous" "$live"
    [ ! -L "$1" ] || rm -f -- "$1.certroll-previous"
  fi
  sync -- "\${live%/*}"
}
each_pair prepare "$@"
each_pair restore "$@"
`;

/** Argument: PATH. A link is removed, not what it leads to. */
export const REMOVE_SCRIPT = `${PRELUDE}
if [ -e "$1" ] || [ -L "$1" ]; then
  rm -f -- "$1"
  sync -- "\${1%/*}"
fi
`;
