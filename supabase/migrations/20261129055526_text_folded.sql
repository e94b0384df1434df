-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

create or replace function app.folded(value text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return translate(value, U&'٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹یىێکةەہۀھأإآٱؤۆڕڵ\0640\064B\064C\064D\064E\064F\0650\0651\0652\0670\200C\200D\200E\200F',
    '01234567890123456789يييكهههههااااوورل');
end $$;

REVOKE ALL ON FUNCTION "app"."folded"(text) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "app"."folded"(text) TO "barid_caller";
