/** The findings of a probe, in the form that clients and people get. */

import type { SandboxBackendReport, SandboxReport } from "../protocol/environment.ts";
import type { BubblewrapTool } from "./backends/bubblewrap.ts";
import type { Availability } from "./backends/bubblewrap_tool.ts";
import type { SandboxDescription } from "./sandbox_service.ts";

export function sandboxReport({ setting, bubblewrap, landlock }: SandboxDescription): SandboxReport {
  return {
    setting,
    bubblewrap: backendReport(bubblewrap, ({ path, version }: BubblewrapTool) => ({ path, version })),
    landlock: backendReport(landlock, (version) => ({ path: null, version: String(version) })),
  };
}

function backendReport<T>(
  availability: Availability<T>,
  identify: (found: T) => Pick<SandboxBackendReport, "path" | "version">,
): SandboxBackendReport {
  if (availability.isAvailable) {
    return { works: true, ...identify(availability.value), reason: null, problem: null };
  }
  const { found, reason, problem = null } = availability;
  const identity = found === undefined ? { path: null, version: null } : identify(found);
  return { works: false, ...identity, reason, problem };
}
