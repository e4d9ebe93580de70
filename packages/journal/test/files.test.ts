import { Blobs, definePrompt, defineTool, isEvaluationFailure, openFile, provide, toolOk, type ModelProvider } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { memoryBlobs, modelAdapter } from "@proviso/runtime";
import { scriptedModel, testImage, type ScriptedStep } from "@proviso/runtime/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-files-"));
  folders.push(folder);
  return folder;
}
