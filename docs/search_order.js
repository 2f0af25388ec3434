// SPDX-License-Identifier: Apache-2.0
// Order of what the site's search finds: pages for readers before modules and their members. Sphinx asks for all names.
var Scorer = {
  score: ([page, , , , score]) => score + (page.startsWith("reference/") ? 0 : 100),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
