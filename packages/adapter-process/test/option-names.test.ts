import { acpAgent, commandLine } from "@proviso/adapter-process";
import { expect, test } from "vitest";

test.each([
  [commandLine, { arguments: [] }, "commandLine has no option arguments. It takes"],
  [commandLine, { permissions: "all" }, "commandLine has no option permissions."],
  [acpAgent, { permission: "all" }, "acpAgent has no option permission. Did you mean permissions?"],
  [acpAgent, { timeout: 5 }, "acpAgent has no option timeout. Did you mean timeoutMs?"],
] as const)("ERR-4 an option that the adapter does not know is refused: %o %j", (make, more, message) => {
  expect(() => make({ command: "llm", ...more } as never)).toThrow(message);
});
