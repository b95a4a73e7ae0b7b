"""Looks into videos and cuts their moments to previews, a GIF and its MP4 twin; a plain library, without Django.

Every preview shows the video at ``start``, ``start + 1/3 s``, … before ``end``: at each instant the frame on
screen at that time. ffmpeg lays the video on a fine grid of ticks and hands over the wanted ones only, so that
one pass over many moments and one call for a single moment show the same instants.
"""

from annotation.media.cutting import CutFailure, Preview, cut_previews
from annotation.media.source import VideoInfo, VideoUnreadable, probe

__all__ = ["CutFailure", "Preview", "VideoInfo", "VideoUnreadable", "cut_previews", "probe"]
