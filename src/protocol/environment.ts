/** The words of `environment/*` that others need besides its results, which are in `environment_results.ts`. */

export type * from "./environment_results.ts";

/** What sandboxes are to be made with: `auto` is bubblewrap, else Landlock. */
export const SANDBOX_SETTINGS = ["auto", "bubblewrap", "landlock", "refuse"] as const;
export type SandboxSetting = typeof SANDBOX_SETTINGS[number];
