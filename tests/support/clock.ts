/** The clock that the functions and the database are started with: another than the machine's where BARID_TEST_CLOCK says so. */
export const clock: Record<string, string> = JSON.parse(process.env.BARID_TEST_CLOCK ?? "{}");
