/** Who may ask what about cash. */
import { role } from "../../../shared/access.ts";

/** Those who count cash and prove where it is. */
export const office = role("dispatcher", "tenant_admin");

/** Drivers for their own cash, the office for everybody's. */
export const cashPeople = role("driver", "dispatcher", "tenant_admin");
