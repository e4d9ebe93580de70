import { Filesystem, type Tool } from "@proviso/core";
import { filesystemTools, planning } from "@proviso/toolkit";
import { expect, test } from "vitest";

test("KIT-12 each tool says what becomes of a call that was under way when its process ended", () => {
  const tools = [...filesystemTools(), ...((planning().tools ?? []) as readonly Tool[])];
  const named = (does: (tool: Tool) => boolean) => tools.filter(does).map(({ name }) => name);
  expect(named(({ readOnly }) => readOnly === true)).toEqual(["list_files", "read_file", "glob_files", "grep_files"]);
  const changing = ["write_file", "edit_file", "remove_file", "set_plan", "update_plan_step"];
  expect(named(({ transactional }) => transactional === true)).toEqual(changing);
  expect(named(({ idempotent }) => idempotent === true)).toEqual(["write_file", "set_plan", "update_plan_step"]);
  expect(named(({ uses }) => uses?.length === 1 && uses[0] === Filesystem)).toEqual(changing.slice(0, 3));
});
