import { serve } from "../../shared/serve.ts";

export default serve("system", []);
