// See LnbwdHeaders.h.
