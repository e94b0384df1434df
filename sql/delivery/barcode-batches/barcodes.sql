-- Barcodes of transfer manifests: 14 characters, the UPU S10 item identifier widened by one digit.
--
--   D M 0 4 7 3 1 2 4 8 2 9 I Q
--   |   |                 | |
--   |   |                 | issuer, two letters (ISO 3166-1 code of the tenant's country)
--   |   |                 check digit of the serial
--   |   serial, nine digits
--   service indicator, two letters (DM by default, from the range that S10 leaves to domestic use)
--
-- Check digit as in S10 with one more weight on the left: weights 10 8 6 4 2 3 5 9 7, S = sum of
-- digit x weight, C = 11 - S mod 11; 10 is written as 0 and 11 as 5. Letters do not enter the sum, so
-- a serial that starts with 0 has the check digit of its eight-digit S10 serial.
-- This file mirrors shared/schemas/barcode.ts; both are tested with tests/support/barcode-vectors.json.

-- Normalises a scanned or typed value to the stored form: removes spaces and invisible characters, upper-cases a-z, and
-- converts Arabic-Indic (U+0660) and extended Arabic-Indic (U+06F0) digits to ASCII. Other letters stay as they are,
-- because their upper case depends on the language. translate() deletes characters without a counterpart.
create or replace function delivery.barcode_normalise(value text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return translate(value,
    'abcdefghijklmnopqrstuvwxyz٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹'
    || E' \t\n\u000B\f\r\u00A0\u061C\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u200B'
    || E'\u200C\u200D\u200E\u200F\u2028\u2029\u202A\u202B\u202C\u202D\u202E\u202F\u2060\u2066\u2067\u2068\u2069\u3000\uFEFF',
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ01234567890123456789');
end $$;

-- The check digit of a serial of nine digits.
create or replace function delivery.barcode_check_digit(serial_digits text) returns integer
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return (
    select case c.value when 10 then 0 when 11 then 5 else c.value end
    from (
      select 11 - sum(substr(serial_digits, w.position::integer, 1)::integer * w.weight)::integer % 11 as value
      from unnest(array[10, 8, 6, 4, 2, 3, 5, 9, 7]) with ordinality w (weight, position)
    ) c);
end $$;

-- True if the value is a valid barcode in its stored form (see barcode_normalise). Never null.
create or replace function delivery.barcode_is_valid(value text) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  return case when value ~ '^[A-Z]{2}[0-9]{10}[A-Z]{2}$'
    then substr(value, 12, 1)::integer = delivery.barcode_check_digit(substr(value, 3, 9)) else false end;
end $$;

-- The barcode of a service indicator, serial and issuer. Null if any part is invalid.
create or replace function delivery.barcode_build(indicator text, serial bigint, issuer text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
  return (
    select case when indicator ~ '^[A-Z]{2}$' and issuer ~ '^[A-Z]{2}$' and serial between 0 and 999999999
      then indicator || d.digits || delivery.barcode_check_digit(d.digits) || issuer end
    from (select lpad(serial::text, 9, '0') as digits) d);
end $$;
