import { DefinitionError } from "@proviso/core";

interface Place {
  close(): Promise<unknown>;
}

/** Where a service is reached: all these places are closed with it, and one that is only being opened too. */
export interface Places {
  /** Rejects with a DefinitionError once they are closed. */
  open<P extends Place>(opening: () => P | Promise<P>): Promise<P>;
  close(): Promise<void>;
}

export function placesOf(service: string): Places {
  const open: Promise<Place>[] = [];
  let isClosed = false;
  return {
    async open(opening) {
      if (isClosed) throw new DefinitionError(`The service ${service} is closed: it serves no one any more.`);
      const place = (async () => opening())();
      open.push(place);
      return place;
    },
    async close() {
      isClosed = true;
      const places = await Promise.allSettled(open);
      await Promise.all(places.flatMap((place) => (place.status === "fulfilled" ? [place.value.close()] : [])));
    },
  };
}
