import { definePrompt, type Section, type Visibility } from "@proviso/core";
import { requireApproval, sequentialDependency, type Approval, type ApprovalRequest } from "@proviso/toolkit";
import { readdirSync, readFileSync } from "node:fs";
import { z } from "zod";
import { diskUsage, fleet, otherTools, replicationLag, restartReplica, rotateLogs } from "./fleet.ts";

const folder = new URL("runbook/", import.meta.url);

const report = z.object({
  summary: z.string().describe("what customers saw, and what ended it"),
  done: z.array(z.string()).describe("what was done, in order"),
});

/** The sections' texts are files: a title, a summary behind `>`, and what to do. */
function sectionOf(file: string, visibility: Visibility): Section {
  const key = file.replace(/^\d+-|\.md$/g, "");
  const [, title = key, summary = "", text = ""] =
    /^# (.+)\n\n> (.+)\n\n([\s\S]+)$/.exec(readFileSync(new URL(file, folder), "utf8")) ?? [];
  const tools = key === "disk" ? [diskUsage, rotateLogs] : (otherTools[key] ?? []);
  const section: Section = { key, title, summary, text: text.trim(), visibility, tools };
  return key === "replication" ? { ...section, tools: [replicationLag, restartReplica] } : section;
}

/** The runbook, its sections closed, or all of them shown at once. */
export function runbook(
  ask: (request: ApprovalRequest) => Approval | Promise<Approval>,
  visibility: Visibility = "summary",
) {
  const files = readdirSync(folder).toSorted();
  return definePrompt({
    ns: "examples",
    key: "incident-runbook",
    params: z.object({ alert: z.string() }),
    output: report,
    slices: [fleet],
    policies: [
      sequentialDependency({ tool: rotateLogs, after: [diskUsage] }),
      requireApproval(ask, { tools: [restartReplica] }),
    ],
    sections: [
      { key: "duty", title: "Your duty", text: "You are on call. Open what you need of the runbook, and follow it." },
      { key: "runbook", title: "Runbook", children: files.map((file) => sectionOf(file, visibility)) },
      { key: "alert", text: "{{alert}}", role: "user" },
    ],
  });
}
