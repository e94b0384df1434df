/** Addresses added by the API and looked at in the database. */
import { expect } from "vitest";
import type { Person } from "./api.ts";
import { sql } from "./db.ts";

/** An address in the middle of Baghdad, as a client sends it. */
export const addressBody = (more: Record<string, unknown> = {}) => ({
  title: { en: "Office", ar: "المكتب", ku: "نووسینگە" },
  full_address: "Karrada Inside, House 14",
  city: "Baghdad",
  country: "IQ",
  latitude: 33.31,
  longitude: 44.36,
  contact_info: { phone: "+9647701112233" },
  ...more,
});

/** Adds it, and answers its id. */
export async function addAddress(
  person: Person,
  more: Record<string, unknown> = {},
): Promise<string> {
  const answer = await person.post("/delivery/addresses", addressBody(more));
  expect(answer).toSucceed(201);
  return answer.body.data.id;
}

/** The row of an address. */
export async function storedAddress(id: string) {
  const [row] = await sql`select * from delivery.addresses where id = ${id}`;
  return row;
}
