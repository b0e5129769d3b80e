/**
 * People at terminals, by a tmux of one's own: its socket is in a temporary directory, so that nobody's is touched. What
 * a pane shows is asked for again and again, because tmux tells nobody when it changes.
 */

import assert from "node:assert/strict";

const LIMIT_MS = 60_000;
const LOOK_MS = 50;

export class Tmux implements AsyncDisposable {
  readonly #directory: string;
  readonly #env: Record<string, string>;

  private constructor(directory: string, env: Record<string, string>) {
    this.#directory = directory;
    this.#env = env;
  }

  static async make(env: Record<string, string>): Promise<Tmux> {
    return new Tmux(await Deno.makeTempDir({ prefix: "exec-server-tmux-" }), env);
  }

  /** A shell without a profile, on a terminal of 80 by 24. */
  async open(name: string, cwd: string): Promise<Pane> {
    const shell = ["env", "PS1=local> ", "bash", "--norc", "--noprofile"];
    await this.run(["new-session", "-d", "-s", name, "-x", "80", "-y", "24", "-c", cwd, ...shell]);
    const pane = new Pane(this, name);
    await pane.until((lines) => lines.at(-1) === "local>");
    return pane;
  }

  async run(args: string[]): Promise<string> {
    const { success, stdout, stderr } = await new Deno.Command("tmux", {
      args: ["-S", `${this.#directory}/socket`, "-f", "/dev/null", ...args],
      clearEnv: true,
      env: this.#env,
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run(["kill-server"]).catch(() => {});
    await Deno.remove(this.#directory, { recursive: true });
  }
}

export class Pane {
  readonly #tmux: Tmux;
  readonly #name: string;

  constructor(tmux: Tmux, name: string) {
    this.#tmux = tmux;
    this.#name = name;
  }

  /** Keys as they are written. */
  async type(text: string): Promise<void> {
    await this.#tmux.run(["send-keys", "-t", this.#name, "-l", text]);
  }

  /** Keys by their names: `Enter`, `C-c`. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux.run(["send-keys", "-t", this.#name, ...keys]);
  }

  async enter(line: string): Promise<void> {
    await this.type(line);
    await this.press("Enter");
  }

  /** As a terminal pastes: between brackets, where the program has asked for them. */
  async paste(text: string): Promise<void> {
    await this.#tmux.run(["set-buffer", "-b", "pasted", text]);
    await this.#tmux.run(["paste-buffer", "-p", "-b", "pasted", "-t", this.#name]);
  }

  /** What this terminal was asked to send of its mouse: tmux's names of the modes that are on. */
  async mouseModes(): Promise<string[]> {
    const names = ["mouse_standard_flag", "mouse_button_flag", "mouse_all_flag", "mouse_sgr_flag"];
    const format = names.map((name) => `#{?${name},${name} ,}`).join("");
    return (await this.#tmux.run(["display-message", "-p", "-t", this.#name, format])).trim().split(" ").filter(
      Boolean,
    );
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.#tmux.run(["resize-window", "-t", this.#name, "-x", String(cols), "-y", String(rows)]);
  }

  /** What is shown, without blank lines at its end. */
  async lines(): Promise<string[]> {
    const text = await this.#tmux.run(["capture-pane", "-p", "-t", this.#name]);
    return text.trimEnd().split("\n").map((line) => line.trimEnd());
  }

  /** Waits until this holds for what is shown, and returns that. */
  async until(holds: (lines: string[]) => boolean): Promise<string[]> {
    const deadline = Date.now() + LIMIT_MS;
    for (;;) {
      const lines = await this.lines();
      if (holds(lines)) return lines;
      assert.ok(Date.now() < deadline, `nothing like that on the screen:\n${lines.join("\n")}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Waits for the shell's prompt at the end. */
  async prompt(): Promise<string[]> {
    return await this.until((lines) => lines.at(-1) === "local>");
  }
}
