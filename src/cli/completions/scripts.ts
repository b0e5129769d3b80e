/** Completions as scripts of bash, zsh and fish. Only text: nothing of this program runs when a key is pressed. */

import { isNegatable } from "../flag_words.ts";
import type { FlagTable } from "../flags.ts";

export interface ScriptCommand {
  readonly name: string;
  readonly about: string;
  readonly flags: FlagTable;
  readonly words: readonly string[];
}

interface Word {
  /** The flag as it is written. */
  readonly text: string;
  readonly help: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

/** The help in one line, without characters that are special to shells. */
function plain(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, " ").replaceAll(/['"`$\\[\]:;!]/g, "").slice(0, 80).trim();
}

function wordsOf(flags: FlagTable): Word[] {
  return Object.entries(flags).flatMap(([name, spec]) => {
    const takesValue = spec.kind !== "action" && spec.kind !== "switch";
    const choices = spec.kind === "choice" ? spec.choices : [];
    const word = (text: string): Word => ({ text, help: plain(spec.help), takesValue, choices });
    return [
      ...(spec.short === undefined ? [] : [word(`-${spec.short}`)]),
      word(`--${name}`),
      ...(isNegatable(spec) ? [word(`--no-${name}`)] : []),
    ];
  });
}

export function bashScript(commands: readonly ScriptCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const cases = commands.map(({ name, flags, words }) => {
    const all = wordsOf(flags).map(({ text }) => text).join(" ");
    return `    ${name}) flags="${all}"; words="${words.join(" ")}" ;;`;
  });
  const choices = commands.flatMap(({ name, flags }) =>
    wordsOf(flags).filter((word) => word.choices.length > 0).map((word) =>
      `    ${name}/${word.text}) COMPREPLY=($(compgen -W "${word.choices.join(" ")}" -- "$cur")); return ;;`
    )
  );
  return `# bash completion of exec-server: source <(exec-server completions bash)
_exec_server() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" command="" flags="" words="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} != -* ]]; then command="\${COMP_WORDS[i]}"; break; fi
  done
  if [[ -z $command || $command == help && $COMP_CWORD -eq 2 ]]; then
    COMPREPLY=($(compgen -W "${names} help" -- "$cur"))
    return
  fi
  case "$command/$prev" in
${choices.join("\n")}
  esac
  case "$command" in
${cases.join("\n")}
  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [[ -n $words && $COMP_CWORD -eq 2 ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -o default -o bashdefault -F _exec_server exec-server
`;
}

export function zshScript(commands: readonly ScriptCommand[]): string {
  const described = commands.map(({ name, about }) => `    '${name}:${plain(about)}'`);
  const cases = commands.map(({ name, flags, words }) => {
    const options = wordsOf(flags).map(({ text, help, takesValue, choices }) => {
      const value = choices.length > 0 ? `:value:(${choices.join(" ")})` : takesValue ? ":value:_files" : "";
      return `'*${text}[${help}]${value}'`;
    });
    const rest = words.length > 0 ? `'1:word:(${words.join(" ")})'` : "'*:file:_files'";
    return `    ${name}) _arguments ${[...options, rest].join(" ")} ;;`;
  });
  return `#compdef exec-server
# zsh completion of exec-server: source <(exec-server completions zsh), after compinit
_exec_server() {
  local -a commands
  commands=(
${described.join("\n")}
    'help:Help about a command'
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
    help) _describe command commands ;;
${cases.join("\n")}
  esac
}
compdef _exec_server exec-server
`;
}

export function fishScript(commands: readonly ScriptCommand[]): string {
  const lines = ["# fish completion of exec-server: exec-server completions fish | source"];
  const names = [...commands.map(({ name }) => name), "help"].join(" ");
  const isFirst = `"not __fish_seen_subcommand_from ${names}"`;
  for (const { name, about, flags, words } of commands) {
    lines.push(`complete -c exec-server -n ${isFirst} -f -a ${name} -d '${plain(about)}'`);
    const seen = `"__fish_seen_subcommand_from ${name}"`;
    if (words.length > 0) lines.push(`complete -c exec-server -n ${seen} -f -a '${words.join(" ")}'`);
    for (const { text, help, takesValue, choices } of wordsOf(flags)) {
      const form = text.startsWith("--") ? `-l ${text.slice(2)}` : `-s ${text.slice(1)}`;
      const value = choices.length > 0 ? ` -x -a '${choices.join(" ")}'` : takesValue ? " -r" : "";
      lines.push(`complete -c exec-server -n ${seen} ${form}${value} -d '${help}'`);
    }
  }
  lines.push(`complete -c exec-server -n ${isFirst} -f -a help -d 'Help about a command'`);
  return `${lines.join("\n")}\n`;
}
