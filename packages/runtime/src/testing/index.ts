export { fakeClock, fakeEnvironment } from "./fake-clock.ts";
export type { FakeClock, FakeClockOptions } from "./fake-clock.ts";
export { recordEvents } from "./event-recorder.ts";
export { invokeTool } from "./invoke-tool.ts";
export { replayEvents } from "./replay.ts";
export { failingModel, scriptedModel } from "./scripted-model.ts";
export type { ScriptedModel, ScriptedStep } from "./scripted-model.ts";
export { testImage } from "./test-image.ts";
