/** Previews of a price for parcels that are weighed and measured. */
import { newService } from "./money.ts";
import { newTenant } from "./people.ts";

export const pricePath = "/delivery/price";

/** A tenant whose unit is 5 kg or a cube of 50 cm, and its service: 1,000 a unit, 2 to 40 units. */
export async function newMeasuring() {
  const tenant = await newTenant({
    settings: {
      "general.unit_size": {
        unit_weight: 5,
        unit_length: 50,
        volumetric_divisor: 5000,
        use_volumetric_weight: true,
      },
    },
  });
  return { tenant, service: await newService(tenant, { unit_min: 2, unit_max: 40 }) };
}

/** A box of 10 kg and 8 litres. */
export const item = (more: Record<string, unknown> = {}) => ({
  name: "Box",
  weight: 10,
  length: 20,
  width: 20,
  height: 20,
  ...more,
});
