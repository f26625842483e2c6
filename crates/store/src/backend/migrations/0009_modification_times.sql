-- When a file was last changed before a call changed it, in nanoseconds since 1970: undo restores it.
ALTER TABLE pre_images ADD COLUMN modified INTEGER;
