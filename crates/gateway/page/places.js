// The places of the page, in the order of the rail: name, label, and the key after `g`. A file of that name is in `places/`.

export const PLACES = [
  ['chat', 'Chat', 'c'],
  ['inbox', 'Inbox', 'i'],
  ['tools', 'Tools', 't'],
  ['agents', 'Agents', 'a'],
  ['history', 'History', 'h'],
  ['usage', 'Usage', 'u'],
  ['changes', 'Changes', ''],
  ['policy', 'Policy', 'p'],
  ['automation', 'Automation', ''],
  ['connections', 'Connections', ''],
  ['memory', 'Memory', 'm'],
  ['doctor', 'Doctor', 'd'],
  ['settings', 'Settings', 's'],
];

/** Places that a link leads to, and not the rail: name and label. */
export const LINKED_PLACES = [['browser', 'Browser']];
