// What undoing may need is set aside before a change happens: it must work where the change itself has used up the disk
// or the descriptors.
import { closeSync, openSync, unlinkSync, writeFileSync } from "node:fs";
import { devNull } from "node:os";
import { lacksDescriptors, lacksRoom, system } from "./faults.ts";
import { statOf, type Folder } from "./folders.ts";

/** Bytes on the disk: for a lock or two, and for a longer folder. */
const room = 16 * 1024;
export const roomName = "reserve";
/**
 * The number of descriptors set aside: for a folder on the way to a path, the one in it, and what is deleted in that.
 */
const descriptorsAside = 4;

export interface Reserve {
  /** Sets aside what is not there yet. @throws {FilesystemError} when there is not enough of it: nothing must be changed then. */
  fill(): void;
  /** Runs a step of undoing, and where it lacks room or descriptors once more with what was set aside. */
  spend<T>(step: () => T): T;
  /** Gives up what a step lacked that failed with this error. @returns whether there was something: it may go well then. */
  giveWay(error: unknown): boolean;
  /** Gives back the descriptors; the room is given back with the folder. */
  close(): void;
}

export function reserveIn(store: Folder, path: string): Reserve {
  const descriptors: number[] = [];
  let hasRoom = false;
  const close = (): void => {
    for (const fd of descriptors.splice(0)) closeSync(fd);
  };
  const giveWay = (error: unknown): boolean => {
    if (lacksDescriptors(error) && descriptors.length > 0) close();
    else if (lacksRoom(error) && hasRoom) {
      unlinkSync(store.at(roomName));
      hasRoom = false;
    } else return false;
    return true;
  };
  return {
    giveWay,
    fill() {
      system(path, () => {
        while (descriptors.length < descriptorsAside) descriptors.push(openSync(devNull, "r"));
      });
      if (!hasRoom) system(path, () => takeRoom(store));
      hasRoom = true;
    },
    spend(step) {
      try {
        return step();
      } catch (error) {
        if (!giveWay(error)) throw error;
        return step();
      }
    },
    close,
  };
}

/** Runs a step of undoing what a dead owner left, and where it lacks room once more with the room that he set aside. */
export function withRoomOf<T>(store: Folder, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!lacksRoom(error) || statOf(store, roomName)?.isFile() !== true) throw error;
    unlinkSync(store.at(roomName));
    return step();
  }
}

function takeRoom(store: Folder): void {
  try {
    writeFileSync(store.at(roomName), new Uint8Array(room), { flag: "wx" });
  } catch (error) {
    // Half of it is none, and in the way.
    if (statOf(store, roomName) !== undefined) unlinkSync(store.at(roomName));
    throw error;
  }
}
