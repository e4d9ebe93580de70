import type { AnswerStep, SimulatedRequest } from "@proviso/simulator";

/**
 * Stands in for a model: without a digest it lists and reads, and writes one of what it saw; with a digest it answers
 * from that.
 */
export function simulatedExplorer({ system, output, toolResults }: SimulatedRequest): AnswerStep {
  const known = /^This folder: (.+)$/m.exec(system)?.[1];
  if (output === undefined && known !== undefined) return { text: known };
  const results = toolResults();
  const listing = results.find(({ name }) => name === "list_files");
  if (listing === undefined) return { toolCalls: [{ name: "list_files", arguments: { path: "" } }] };
  const files = [...listing.text.matchAll(/^(.+) \(\d+\)$/gm)].map(([, name = ""]) => name);
  const first = ["package.json", "README.md"].find((name) => files.includes(name)) ?? files[0];
  const read = results.find(({ name }) => name === "read_file");
  if (read === undefined && first !== undefined)
    return { toolCalls: [{ name: "read_file", arguments: { path: first } }] };
  const what = /"description": "(.+)"/.exec(read?.text ?? "")?.[1] ?? read?.text.split("\n")[1] ?? "nothing is in it";
  const digest = `This folder: ${what}\nIts files: ${files.join(", ")}.`;
  return output === undefined ? { text: what } : { output: { digest } };
}
