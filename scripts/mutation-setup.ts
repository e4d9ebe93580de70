import { afterEach, beforeEach } from "vitest";

// What one test has killed is dead: the tests after it would hang for their time too.
let killed = false;
beforeEach(({ skip }) => skip(killed, "an earlier test has killed the mutation"));
afterEach(({ task }) => void (killed ||= task.result?.state === "fail"));
