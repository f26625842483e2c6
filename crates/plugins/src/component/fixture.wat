;; A component for the tests. The tool's first letter says what it does; arguments are {"path":"…"} or {"url":"…"}, which are cut out as text.
(module
  (import "haft:plugin/host@0.1.0" "read-file" (func $read (param i32 i32 i32)))
  (import "haft:plugin/host@0.1.0" "write-file" (func $write (param i32 i32 i32 i32 i32)))
  (import "haft:plugin/host@0.1.0" "fetch" (func $fetch (param i32 i32 i32)))
  (import "haft:plugin/host@0.1.0" "progress" (func $progress (param i32 i32)))
  (import "haft:plugin/host@0.1.0" "now" (func $now (result i64)))
  (memory (export "memory") 4)
  (global $top (mut i32) (i32.const 65536))
  (global $calls (mut i32) (i32.const 0))
  (data (i32.const 16) "written")
  (data (i32.const 32) "no such thing")
  (data (i32.const 64) "../secret.txt")
  (data (i32.const 96) "first call of this instance")
  (data (i32.const 128) "a later call")

  (func (export "cabi_realloc") (param $old i32) (param $size i32) (param $align i32) (param $new i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
    (global.set $top (i32.add (local.get $at) (local.get $new)))
    (block $enough
      (loop $more
        (br_if $enough (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
        (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then (unreachable)))
        (br $more)))
    (local.get $at))

  ;; The answer stands at 1024: 0 or 1, then where the text is and how long.
  (func $answer (param $fault i32) (param $at i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 1024) (local.get $fault))
    (i32.store (i32.const 1028) (local.get $at))
    (i32.store (i32.const 1032) (local.get $length))
    (i32.const 1024))

  (func (export "call") (param $tool i32) (param $tool_length i32) (param $arguments i32) (param $length i32)
      (param $context i32) (param $context_length i32) (result i32)
    (local $what i32) (local $path i32) (local $path_length i32)
    (local.set $what (i32.load8_u (local.get $tool)))
    (local.set $path (i32.add (local.get $arguments) (i32.const 9)))
    (local.set $path_length (i32.sub (local.get $length) (i32.const 11)))
    ;; r: reads the file.
    (if (i32.eq (local.get $what) (i32.const 0x72)) (then
      (call $read (local.get $path) (local.get $path_length) (i32.const 1024))
      (return (i32.const 1024))))
    ;; w: writes the file, and says so.
    (if (i32.eq (local.get $what) (i32.const 0x77)) (then
      (call $write (local.get $path) (local.get $path_length) (i32.const 16) (i32.const 7) (i32.const 1040))
      (if (i32.load8_u (i32.const 1040))
        (then (return (call $answer (i32.const 1) (i32.load (i32.const 1044)) (i32.load (i32.const 1048))))))
      (return (call $answer (i32.const 0) (i32.const 16) (i32.const 7)))))
    ;; f: fetches the address.
    (if (i32.eq (local.get $what) (i32.const 0x66)) (then
      (call $fetch (i32.add (local.get $arguments) (i32.const 8)) (i32.sub (local.get $length) (i32.const 10)) (i32.const 1040))
      (if (i32.load8_u (i32.const 1040))
        (then (return (call $answer (i32.const 1) (i32.load (i32.const 1044)) (i32.load (i32.const 1048))))))
      (return (call $answer (i32.const 0) (i32.load (i32.const 1048)) (i32.load (i32.const 1052))))))
    ;; o: reads what is outside, whatever the arguments are.
    (if (i32.eq (local.get $what) (i32.const 0x6f)) (then
      (call $read (i32.const 64) (i32.const 13) (i32.const 1024))
      (return (i32.const 1024))))
    ;; s: never ends.
    (if (i32.eq (local.get $what) (i32.const 0x73)) (then (loop $for_ever (br $for_ever))))
    ;; m: takes all the memory that there is.
    (if (i32.eq (local.get $what) (i32.const 0x6d)) (then
      (block $full (loop $more (br_if $full (i32.eq (memory.grow (i32.const 256)) (i32.const -1))) (br $more)))
      (return (call $answer (i32.const 0) (i32.const 16) (i32.const 7)))))
    ;; e: answers with an error.
    (if (i32.eq (local.get $what) (i32.const 0x65)) (then
      (return (call $answer (i32.const 1) (i32.const 32) (i32.const 13)))))
    ;; t: breaks down.
    (if (i32.eq (local.get $what) (i32.const 0x74)) (then (unreachable)))
    ;; c: counts the calls of its instance, and says what it does.
    (if (i32.eq (local.get $what) (i32.const 0x63)) (then
      (call $progress (i32.const 16) (i32.const 7))
      (drop (call $now))
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      (if (i32.eq (global.get $calls) (i32.const 1))
        (then (return (call $answer (i32.const 0) (i32.const 96) (i32.const 27)))))
      (return (call $answer (i32.const 0) (i32.const 128) (i32.const 12)))))
    (call $answer (i32.const 0) (local.get $context) (local.get $context_length)))
)
